//! The contract of this crate: exact answers, published schemas, generated files, and properties
//! that hold for every failure.

#[cfg(test)]
mod adopt;
#[cfg(test)]
mod candor;
#[cfg(test)]
mod context;
#[cfg(test)]
mod draw;
#[cfg(test)]
mod generated;
#[cfg(test)]
mod github;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod support;
#[cfg(test)]
mod system_error;
#[cfg(test)]
mod weather;
#[cfg(test)]
mod wire;
#[cfg(test)]
mod workspace;
