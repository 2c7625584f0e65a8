//! The page of figures in the documentation.

use super::{BenchReport, FIGURES, OF_CONTEXT, OF_ORDERS, OF_RECORD, VERDICTS};
use std::io;
use std::path::Path;

pub(crate) fn write(report: &BenchReport, file: &Path) -> io::Result<()> {
    std::fs::write(file, text(report))
}

fn text(report: &BenchReport) -> String {
    let bars = table(&VERDICTS, &report.verdicts());
    let figures = table(&FIGURES, &report.figures());
    let of_context = table(&OF_CONTEXT, &report.of_context());
    let of_record = table(&OF_RECORD, &report.of_record());
    let of_orders = table(&OF_ORDERS, &report.of_orders());
    let (corpus, option) = match &report.context.corpus {
        Some(corpus) => (corpus.as_str(), "--corpus DIR "),
        None => ("none was given", ""),
    };
    let (machine, rounds, round_ms) = (&report.machine, report.rounds, report.round_ms);
    format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench`; do not edit. Run it for the figures of your own machine.\n\n\
         ## Bars\n\n{bars}\n\
         ## Figures\n\n{figures}\n\
         ## Figures of context caches\n\n{of_context}\n\
         ## Figures of the log and the workspace\n\n{of_record}\n\
         ## Figures of the order tools\n\n{of_orders}\n\
         ## Where they come from\n\n\
         | | |\n|---|---|\n\
         | command | `cargo xtask bench {option}--write docs/benchmarks.md` |\n\
         | version | {} |\n\
         | date | {} |\n\
         | machine | {} cores, {}, {:.1} GB of memory |\n\
         | kernel | {} |\n\
         | compiler | {} |\n\
         | load before the run | {} |\n\
         | rounds | {rounds} of {round_ms} ms for each call on each server; {rounds} for context |\n\
         | corpus | {corpus} |\n\n\
         {READING}",
        machine.candor,
        machine.date,
        machine.cores,
        machine.processor,
        machine.memory_gb,
        machine.kernel,
        machine.rustc,
        machine.busy,
    )
}

fn table<const N: usize>(head: &[&str; N], rows: &[[String; N]]) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

const READING: &str = "\
## How to read them

**Bars are ratios.** A number of requests a second says something about one machine on one day. How \
many times slower a server is than the barest program that could do its work says something about \
the server. So every figure is measured beside that program, in turns of a tenth of a second, \
in one run: each round measures every call on every server, a ratio is taken within each round, and the \
bar is on the median of the ratios. The spread goes from the lowest to the highest round; where it is wide, something else \
used the machine. Nothing is pinned to a core and no priority is raised.

**What *bare* is.** On stdio: one tokio task that reads a line from tokio's stdin, parses it into raw \
values, echoes its parameters, and flushes to tokio's stdout when its buffer is empty. Over HTTP: an \
axum handler that parses and echoes in the same way. Both check nothing: no duplicate names, no depth, \
no schema, no deadline, no cancellation, no record, no metrics, no panic.

**What *bare, pipes* is.** The same loop straight on the two pipes. tokio hands every read and write \
of stdin and stdout to another thread, which costs more than the parsing; candor reads with a thread \
of its own instead, and part of its speed beside *bare* comes from there. This loop shows the rest: \
the least that any program in this language could need. There is no bar on it.

**What *candor* is.** `candor playground`, the program as it is released, with everything on. \
*success* calls `echo`; *github −32002* and *github −32602* fail in the dialect of the GitHub tools; \
*wrong arguments* are refused by the schema of `echo` and explained in the neutral dialect, which says \
everything three times (for a model, for a program, for a strict client), so its answer is the \
longest. There is no bar on it.

**What the GitHub tools are asked.** `candor github serve --http` on a local forge with its sample \
repository, beside the same bare axum handler. *search, no query* is refused by its schema, with the \
log line on stderr, which is read and thrown away; *read_file* reads a small file out of git and has \
no bar. The memory of `get_tree` is the highest resident size of a new server that has answered with \
a tree of 100,000 entries once.

**Load.** On stdio 32 requests are in flight on one connection: a thread writes as many new ones as \
answers came. Over HTTP 16 connections stay open, one request at a time on each. Every answer is \
matched with its request by its id, and the first ones of every round are compared with what the case \
must answer. The load and the servers share the cores, so a percentile includes the wait for one. \
*CPU* is the server's own processor time, user and system, for one answer; it depends least on what \
else the machine does.

**Start** is the time from starting the process to its first answer on stdio, the median of 20. \
**Memory** is the highest resident size over all rounds; the lower end of its spread is the size after \
the last one.

**Context: what is built and asked.** The corpus is a tree of Markdown that the command names; the bars \
are stated for that of MDN, 14,593 files and 59 MB. It is copied into a temporary directory first. The \
synthetic documents are made by the benchmark, the same in every run: about a kilobyte each, the n-th \
most frequent word n times rarer than the first, and planted words that stand in exactly so many of \
every thousand documents. Every query asks for 4,000 tokens. Everything that is read was read before: \
the page cache is warm for all, the bare programs too. Ratios are taken round by round, and the two \
sides take turns in going first.

**`resolve` on the command line** is a new process for every query, and so is the bare program beside \
it: one thread that calls `statx` on every file that the cache lists, then reads and prints the files \
of the documents in the answer. Their names wait in a list, so it parses no manifest; it has no index \
and scores nothing. A round is the median of 12 of each. *Oracle in memory* is the rules of selection \
as they are written down, every word of every document, with all documents in memory and no answer \
written.

**`resolve` on the server** is a client of `context serve` on stdio. The mix has 3,000 queries of one to \
six words: rare ones (in ten documents at most), common ones (in more than every twentieth), those \
between, and stop words. A time is taken from before the request is written until its answer is read. \
With `--no-watch` the server looks at every file before every answer, as it does where directories \
cannot be watched; there is no bar on it. For the comparison with the oracle, the mean of five queries \
of the mix in each round, both answer the same ones, and the benchmark fails where their bytes differ.

**Growth** compares the median of 200 calls in each round; each size has a server of its own. \
**Memory of the server** is its resident size after these rounds, less the size of `accelerator.idx` \
and `accelerator.sig`.

**Builds** are beside one thread that creates, writes and closes the same documents' files, from \
memory, in a new directory, and ends with one `syncfs`; it reads no sources and makes no index. Before \
each, everything that was written earlier is made durable. An update follows the change of one file, a \
different one in each round. The memory of a build is looked at in a build of its own, which is not timed.

**The log** is the crate itself, in this process, on the disk of the temporary directory, with lines \
as long as those of the workspace server. The bare loop beside it appends a line of that length to a file \
and calls `fdatasync`, one after the other; it has neither numbers nor hashes nor a lock. With several \
callers each one appends its next line when its last one is durable; appends for a sync are counted, not \
derived. *Growth* compares a log of 1,000 lines with one of a million, in turns; the bytes that an append \
reads are counted at both. *Verification* reads the million lines on one thread, from the page cache.

**`write_file`** is the tool with every gate, in this process, from the arguments to the durable record: \
a signed plan is found, checked and held against the path, the policy (the profile that is on unless asked \
otherwise) judges the content, the change is \
journaled, made, recorded. The commands of the plan are not run. Beside it: a temporary file is written, \
synced, renamed over the file, and the directory is synced.

**Orders: what is asked.** `candor orders serve --http` with its limits off and everything else as it \
is released, beside an axum handler that runs the same statements in the same transactions on pools of \
the same size, and does nothing else: it parses what it needs into a small struct, checks nothing, has \
no deadline, no retry and no metrics, and answers with the rows as they are. Before the rounds the log \
of PostgreSQL is read to see that both send it the same statements, one by one; on SQLite the texts are \
the same but for two. *get-orders by id* reads one of 10,000 orders of two lines; *create-sales-order* \
makes one for a known customer; *create, nothing in stock* is refused inside the transaction, and that \
refusal is kept under its key. Every change has a new key, and every commit is durable: SQLite with \
`synchronous = FULL`, PostgreSQL with `fsync` on, its data on the same disk, reached over a socket. Each \
server has a store of its own, new in every run. The figures of *CPU* are those of the server's process; \
PostgreSQL's own are not in them.

**Pages** are the first twenty orders, of all, in one status, of one customer, from one of ten moments \
on, in a store of 100,000 orders beside one of a million, each behind a server of its own. Both stores \
are spread over the same year, and a customer has a hundred orders in both. The stores are made once, \
with bulk statements, and kept for the next run.

To compare two builds of candor, keep the older executable and run `cargo xtask bench --beside FILE`: \
both are measured in the same rounds.
";
