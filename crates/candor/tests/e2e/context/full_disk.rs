//! A full disk during an update, on a small file system of the program's own.

use crate::context::fixture::{ContextFixture, run_command};
use crate::fixture::context;
use candor_testkit::on_small_disk;

/// The size of the file system in bytes.
const SIZE: usize = 4 * 1024 * 1024;

/// Fills the disk, updates, makes room, and updates again.
const SCRIPT: &str = r#"
    run() { said=$("$@" 2>&1 >/dev/null); echo "$? $2 $said"; }
    old=$(cksum <cache/manifest.json)
    for round in 1 2 3; do
        head -c 300000 /dev/zero | tr '\0' "$round" >docs/large.md
        # A little room is left, so that an update fails at different files.
        cat /dev/zero >filler 2>/dev/null
        truncate -s -$((round * 65536)) filler
        run "$0" update --cache cache
        test "$old" = "$(cksum <cache/manifest.json)" && echo "the cache is as it was"
        run "$0" verify --cache cache
        ls -A | grep -v -x -e cache -e docs -e filler -e .cache.spare
    done
    rm filler
    run "$0" update --cache cache
    run "$0" status --cache cache --exit-code
    ls -A
"#;

#[test]
fn full_disk_is_reported_and_the_next_update_succeeds() {
    let fixture = ContextFixture::with_cache();
    let mut command = fixture.command_of("sh", &["-c", SCRIPT]);
    command.arg(context());
    let Some(command) = on_small_disk(&command, fixture.root(), SIZE) else {
        return;
    };
    let output = run_command(command);
    let failed = "6 update error: the disk of `cache` is full\nhint: make room, then call again\nthe cache is as it was\n0 verify \n";
    let expected = format!(
        "{}0 update \n0 status \n.cache.spare\ncache\ndocs\n",
        failed.repeat(3)
    );
    assert_eq!(output.stdout, expected, "{}", output.stderr);
}
