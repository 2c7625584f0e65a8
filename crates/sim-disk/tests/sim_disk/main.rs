//! Tests that the simulated disk behaves like a disk and detects wrong protocols.

#[cfg(test)]
mod appending;
#[cfg(test)]
mod model;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod replacing;
