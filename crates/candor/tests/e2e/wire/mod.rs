//! The protocol on stdio and HTTP, and the commands of `candor`, compared byte by byte.

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
