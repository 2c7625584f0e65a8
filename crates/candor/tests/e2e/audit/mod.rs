//! `candor audit`: output, exit codes, hints, and the files afterwards.

mod export;
mod fixture;
mod help;
mod moving;
mod showing;
mod signing;
mod verifying;
