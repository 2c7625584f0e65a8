//! The progress bar of long builds: on stderr, and only when that is a terminal.

use candor_context::BuildProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A progress bar for each part of a build.
#[derive(Debug)]
pub(super) struct BuildBar(ProgressBar);

impl Default for BuildBar {
    fn default() -> Self {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("{prefix:10} {bar:40} {human_pos}/{human_len}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        BuildBar(bar)
    }
}

impl BuildBar {
    /// Removes the bar from the screen.
    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl BuildProgress for BuildBar {
    fn begin(&self, part: &'static str, steps: u64) {
        self.0.set_prefix(part);
        self.0.set_length(steps);
        self.0.set_position(0);
    }

    fn step(&self) {
        self.0.inc(1);
    }
}
