//! `candor audit` as a person meets it: exact output, exit codes, hints, and what is on the disk after.

mod export;
mod fixture;
mod help;
mod moving;
mod showing;
mod signing;
mod verifying;
