//! The capabilities in the new user namespace: kept for the set-up, then given up.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};
use std::io;

/// The capabilities that process 1 and cell need: to mount, to bring up the loopback interface, and to give
/// up the bounding set.
const FOR_SETUP: [CapabilitySet; 3] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SETPCAP,
];

/// Keeps the capabilities of the set-up when the next stage is executed. Without this only root keeps them.
pub(super) fn keep_for_setup() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    for one in FOR_SETUP {
        sets.inheritable |= one;
    }
    set_capabilities(None, sets)?;
    for one in FOR_SETUP {
        configure_capability_in_ambient_set(one, true)?;
    }
    Ok(())
}

/// Gives up all capabilities, from the bounding set too, and rules out new privileges.
pub(super) fn drop_all() -> io::Result<()> {
    set_no_new_privs(true)?;
    let _ = clear_ambient_capability_set();
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // The kernel has no further ones, or this user has none to give up.
            Err(Errno::INVAL | Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    Ok(set_capabilities(None, sets)?)
}
