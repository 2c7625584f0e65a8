//! What crosses processes: the program as clients and people meet it, byte for byte.

mod admission;
mod answers;
mod broken;
mod cli;
mod connections;
mod dialects;
mod ending;
mod eras;
mod fixture;
mod in_flight;
mod limits;
mod progress;
mod secrets;
