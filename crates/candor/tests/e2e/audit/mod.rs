//! `candor audit` as a person meets it: exact output, exit codes, hints, and what is on the disk after.

mod export;
mod help;
mod moving;
mod place;
mod showing;
mod signing;
mod verifying;
