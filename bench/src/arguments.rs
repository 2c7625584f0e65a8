//! The command line of the benchmark.

use crate::bare::namespaces;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Measure candor beside the barest programs that could do its work.
#[derive(Debug, Parser)]
#[command(name = "candor-bench", version)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    pub(crate) bare: Option<Bare>,
    #[command(flatten)]
    pub(crate) options: BenchOptions,
}

/// The bare programs that candor is compared with; the benchmark starts them.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Bare {
    /// Read lines, parse, echo
    #[command(name = "bare-stdio", hide = true)]
    Stdio,
    /// Read lines from a pipe, parse, echo
    #[command(name = "bare-pipes", hide = true)]
    Pipes,
    /// Serve HTTP, parse, echo
    #[command(name = "bare-http", hide = true)]
    Http,
    /// Serve HTTP, parse, answer with the content of a file
    #[command(name = "bare-answer", hide = true)]
    Answer {
        /// The result of every answer
        file: PathBuf,
    },
    /// Look at listed files, print some of them
    #[command(name = "bare-stat", hide = true)]
    Stat {
        /// The directory of the files
        folder: PathBuf,
        /// A file with the names to look at, one a line
        looked_at: PathBuf,
        /// A file with the names to print, one a line
        printed: PathBuf,
    },
    /// Run `true` in new namespaces with a fresh /proc
    #[command(name = "bare-namespaces", hide = true)]
    Namespaces,
    /// Mount /proc and become `true`
    #[command(name = namespaces::PROCESS_ONE, hide = true)]
    ProcessOne,
    /// Serve HTTP, run the statements of the order tools
    #[command(name = "bare-orders", hide = true)]
    Orders {
        /// The address of the database
        url: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BenchOptions {
    /// The program to measure [default: `candor` beside this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) candor: Option<PathBuf>,
    /// Another build of it, measured in the same rounds
    #[arg(long, value_name = "FILE")]
    pub(crate) beside: Option<PathBuf>,
    /// Measure only this
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<BenchPart>,
    /// A tree of Markdown for the bars on context caches, which are stated for that of MDN; it is
    /// copied first, and the temporary directory needs a hundred times its size
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: Option<PathBuf>,
    /// The directory in which stores of orders are kept for the next run, about 5 GB; the account that
    /// PostgreSQL runs as has to get through to it [default: candor-bench-UID in /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub(crate) stores: Option<PathBuf>,
    /// Few and short rounds: shows that everything works, says little about speed
    #[arg(long)]
    pub(crate) quick: bool,
    /// The number of rounds [default: 7, quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// The time of one round of one case, in milliseconds [default: 2000, quick 300]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    round_ms: Option<u64>,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the page of figures; with --only, update the rows of that part
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Exit with 1 when a bar is missed
    #[arg(long)]
    pub(crate) enforce: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchPart {
    Stdio,
    Http,
    Start,
    Github,
    /// The local forge beside git: histories, merges, imports
    LocalForge,
    /// HTTP with many idle or slow connections
    Connections,
    /// All parts about context caches
    ContextProgram,
    /// `resolve`, on the command line and on the server
    ContextResolve,
    /// Version 1: searches, parts of documents, tokenizers
    ContextReading,
    /// Builds and updates
    ContextBuilds,
    /// Large answers that nobody reads
    ContextAnswers,
    /// Caches of different sizes
    ContextGrowth,
    Log,
    Workspace,
    /// The workspace server: plans, commands, pace, `audit verify` and memory
    WorkspaceCommands,
    /// All parts about orders
    Orders,
    /// Calls beside a bare handler, the comparison of answers, and the start
    OrdersCalls,
    /// Changes that share commits, and clients beside each other
    OrdersChanges,
    /// Pages and lookups in stores of different sizes
    OrdersPages,
}

impl BenchPart {
    /// The parts about context caches.
    pub(crate) const CONTEXT: [BenchPart; 5] = [
        BenchPart::ContextResolve,
        BenchPart::ContextReading,
        BenchPart::ContextBuilds,
        BenchPart::ContextAnswers,
        BenchPart::ContextGrowth,
    ];

    /// The parts about orders.
    pub(crate) const ORDERS: [BenchPart; 3] = [
        BenchPart::OrdersCalls,
        BenchPart::OrdersChanges,
        BenchPart::OrdersPages,
    ];
}

impl BenchOptions {
    pub(crate) fn wants(&self, part: BenchPart) -> bool {
        let is_within = |only| {
            only == part
                || (only == BenchPart::ContextProgram && BenchPart::CONTEXT.contains(&part))
                || (only == BenchPart::Orders && BenchPart::ORDERS.contains(&part))
        };
        self.only.is_none_or(is_within)
    }

    /// Returns the name of the only part that is measured, if there is one.
    pub(crate) fn part(&self) -> Option<String> {
        let value = self.only?.to_possible_value()?;
        Some(value.get_name().to_owned())
    }

    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 3 } else { 7 })
    }

    pub(crate) fn round(&self) -> Duration {
        let millis = self.round_ms.unwrap_or(if self.quick { 300 } else { 2000 });
        Duration::from_millis(millis)
    }
}
