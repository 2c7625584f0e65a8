//! Instants in the time zone of the person, which `TZ` or `/etc/localtime` names.

use super::serve::variable;
use candor_fault::Timestamp;
use jiff::tz::TimeZone;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};
use std::time::Duration;

/// The directory of the system's time zones.
const ZONES: &str = "/usr/share/zoneinfo";

/// The maximum size of the description of a time zone, in bytes.
const MAX_ZONE: u64 = 1024 * 1024;

/// Formats an instant in local time and in UTC. Without a time zone, only UTC is known.
pub(super) fn format(at: Timestamp) -> String {
    let utc = at.strftime("%Y-%m-%d %H:%M:%S UTC");
    match local_zone() {
        None => utc.to_string(),
        Some(zone) => {
            let local = at.to_zoned(zone);
            format!("{} ({utc})", local.strftime("%Y-%m-%d %H:%M:%S %:z"))
        }
    }
}

/// Formats a duration in its largest whole unit.
pub(super) fn format_duration(duration: Duration) -> String {
    let minutes = duration.as_secs() / 60;
    let (count, unit) = match minutes {
        minutes if minutes > 0 && minutes % (24 * 60) == 0 => (minutes / (24 * 60), "day"),
        minutes if minutes > 0 && minutes % 60 == 0 => (minutes / 60, "hour"),
        minutes => (minutes, "minute"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

fn local_zone() -> Option<TimeZone> {
    match variable("TZ") {
        None => zone_of_file(Path::new("/etc/localtime")),
        Some(name) => zone_of_name(name.strip_prefix(':').unwrap_or(&name)),
    }
}

/// Returns the time zone that a value of `TZ` means: a name, a path or a rule such as `CET-1CEST`.
fn zone_of_name(name: &str) -> Option<TimeZone> {
    if name.is_empty() {
        return Some(TimeZone::UTC);
    }
    let path = Path::new(name);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    match path.is_absolute() {
        true => zone_of_file(path),
        false if is_below => zone_of_file(&Path::new(ZONES).join(path)),
        false => None,
    }
    .or_else(|| TimeZone::posix(name).ok())
}

fn zone_of_file(path: &Path) -> Option<TimeZone> {
    // A FIFO would be waited for.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_ZONE).read_to_end(&mut bytes).ok()?;
    TimeZone::tzif("Local", &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_whole_units() {
        let format = |seconds| format_duration(Duration::from_secs(seconds));
        assert_eq!(format(30 * 60), "30 minutes");
        assert_eq!(format(90 * 60), "90 minutes");
        assert_eq!(format(60 * 60), "1 hour");
        assert_eq!(format(4 * 3600), "4 hours");
        assert_eq!(format(24 * 3600), "1 day");
        assert_eq!(format(25 * 3600), "25 hours");
        assert_eq!(format(366 * 86400), "366 days");
        assert_eq!(format(60), "1 minute");
    }

    #[test]
    fn zones_are_rules_or_names() {
        let offset = |name: &str| {
            let at = Timestamp::from_second(1_750_000_000).unwrap();
            zone_of_name(name).map(|zone| zone.to_offset(at).seconds())
        };
        assert_eq!(offset(""), Some(0));
        assert_eq!(offset("CET-1CEST,M3.5.0,M10.5.0/3"), Some(7200));
        assert_eq!(offset("<+0530>-5:30"), Some(19800));
        assert_eq!(offset("../../../etc/passwd"), None);
        assert_eq!(offset("/etc/passwd"), None);
        assert_eq!(offset("/dev/zero"), None);
        assert_eq!(offset("No/Such Zone"), None);
    }
}
