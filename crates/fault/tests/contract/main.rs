//! The contract of this crate: exact answers, schemas, and properties of every failure.

#[cfg(test)]
mod candor;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod weather;
#[cfg(test)]
mod wire;
