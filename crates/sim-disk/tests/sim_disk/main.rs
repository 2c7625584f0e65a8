//! Is the simulated disk a disk, and does it catch what it is there to catch?

#[cfg(test)]
mod appending;
#[cfg(test)]
mod model;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod replacing;
