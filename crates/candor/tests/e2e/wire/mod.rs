//! What crosses processes: the program as clients and people meet it, byte for byte.

mod admission;
mod broken;
mod cli;
mod connections;
mod dialects;
mod ending;
mod eras;
mod in_flight;
mod limits;
mod messages;
mod progress;
mod secrets;
mod servers;
