//! The page of figures in the documentation.

use super::page_update::update;
use super::{
    BenchReport, FIGURES, OF_CONNECTIONS, OF_CONTEXT, OF_LOCAL_FORGE, OF_ORDERS, OF_RECORD,
    OF_WORKSPACE, VERDICTS,
};
use std::io;
use std::path::Path;

/// Writes the page. A run of one part updates the rows of an existing page.
pub(crate) fn write(report: &BenchReport, part: Option<&str>, file: &Path) -> io::Result<()> {
    let page = text(report, part.unwrap_or("all"));
    let page = match part.map(|_| std::fs::read_to_string(file)) {
        Some(Ok(old)) => update(&old, &page),
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => page,
    };
    std::fs::write(file, page)
}

fn text(report: &BenchReport, part: &str) -> String {
    let bars = table(&VERDICTS, &report.verdicts());
    let figures = table(&FIGURES, &report.figures());
    let of_local_forge = table(&OF_LOCAL_FORGE, &report.of_local_forge());
    let of_connections = table(&OF_CONNECTIONS, &report.of_connections());
    let of_context = table(&OF_CONTEXT, &report.of_context());
    let of_record = table(&OF_RECORD, &report.of_record());
    let of_workspace = table(&OF_WORKSPACE, &report.of_workspace());
    let of_orders = table(&OF_ORDERS, &report.of_orders());
    let corpus = report.context.corpus.as_deref().unwrap_or("none");
    let (machine, rounds, round_ms) = (&report.machine, report.rounds, report.round_ms);
    let run = [
        part.to_owned(),
        machine.candor.clone(),
        machine.date.clone(),
        format!(
            "{} cores, {}, {:.1} GB, kernel {}, {}",
            machine.cores, machine.processor, machine.memory_gb, machine.kernel, machine.rustc
        ),
        machine.busy.clone(),
        format!("{rounds} of {round_ms} ms"),
        corpus.to_owned(),
    ];
    let runs = table(&RUNS, &[run]);
    format!(
        "# Benchmarks\n\n\
         This page shows how fast Candor is, compared with programs that do the same work and nothing else. \
         `cargo xtask bench --corpus DIR --write docs/benchmarks.md` generates it, and with `--only PART` brings \
         the rows of one part up to date; do not edit it. Run the command for the figures of your own \
         machine.\n\n\
         ## Bars\n\n{bars}\n\
         ## Figures\n\n{figures}\n\
         ## Figures of the local forge\n\n{of_local_forge}\n\
         ## Figures of many connections\n\n{of_connections}\n\
         ## Figures of context caches\n\n{of_context}\n\
         ## Figures of the log and the workspace\n\n{of_record}\n\
         ## Figures of the workspace server\n\n{of_workspace}\n\
         ## Figures of the order tools\n\n{of_orders}\n\
         ## The runs\n\n{runs}\n\
         {READING}",
    )
}

fn table<const N: usize>(head: &[&str; N], rows: &[[String; N]]) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

/// The columns of the table of runs. A run of one part (`--only`) has its own row.
const RUNS: [&str; 7] = [
    "part",
    "version",
    "date",
    "machine",
    "load before",
    "rounds",
    "corpus",
];

const READING: &str = "\
## How to read the figures

**Bars are ratios.** The number of requests per second describes one machine on one day. How many \
times slower a server is than the simplest program that could do its work describes the server. So \
every figure is measured beside that program, in the same run, in turns of a tenth of a second. \
Each round measures every call on every server, a ratio is computed in each round, and the bar \
applies to the median of the ratios. The spread is the range from the lowest to the highest round; \
if it is wide, something else used the machine. No process is pinned to a core, and no priority is \
raised.

**The server *bare*.** On stdio it is one tokio task that reads a line from tokio's stdin, parses \
it into raw values, echoes its parameters, and flushes to tokio's stdout when its buffer is empty. \
Over HTTP it is an axum handler that parses and echoes in the same way. Both check nothing and do \
nothing else: no duplicate names, no depth, no schema, no deadline, no cancellation, no record, no \
metrics, no handling of panics.

**The server *bare, pipes*.** It is the same loop, directly on the two pipes. tokio passes every \
read and write of stdin and stdout to another thread, which takes longer than the parsing. Candor \
reads with its own thread instead, and part of its speed compared with *bare* comes from that. \
This loop shows the remaining difference: it is the minimum that any Rust program needs. It has no \
bar.

**The server *candor*.** It is `candor playground` as it is released, with everything enabled. \
*success* calls `echo`. *github −32002* and *github −32602* fail in the dialect of the GitHub \
tools. *wrong arguments* are refused by the schema of `echo` and explained in the neutral dialect, \
which contains everything three times (for a model, for a program, for a strict client), so its \
answer is the longest.

**The GitHub tools.** `candor github serve --http` runs on a local forge with its sample \
repository, beside the same bare axum handler. *search, no query* is refused by its schema, and \
its log line goes to stderr, which is read and discarded. *read_file* reads a small file from git \
and has no bar. The memory of `get_tree` is the highest resident size of a new server that has \
answered once, with a tree of 100,000 entries.

**Load.** On stdio 32 requests are in flight on one connection: a thread writes a new request for \
every answer that arrives. Over HTTP 16 connections stay open, with one request at a time on each. \
Every answer is matched with its request by its id, and the first answers of every round are \
compared with the expected ones. The load generator and the servers share the cores, so a \
percentile includes the wait for a core. *CPU* is the server's own processor time, user and \
system, per answer; it depends least on what else the machine does.

**Many connections.** The servers are `candor playground --http`. An idle connection has got the \
answer to `GET /health` and asks nothing more; it asks again every 20 s, because a server closes it \
after a minute, and at the end, so that a closed one fails the benchmark. Beside 2,000 of them the \
16 connections of the usual load call `echo` for the same time as on a server of their own, in \
turns. The memory of 4,096 of them is the resident size when all are open, minus that of the same \
server before; each round starts a new server. Beside slow peers, 600 connections have sent half of \
a head and 520 half of a body when the calls begin: 500 in a round, one after the other, each on a \
connection of its own, from the connect to the answer.

**Start** is the time from starting the process to its first answer on stdio, as the median of 20 \
starts. **Memory** is the highest resident size over all rounds; the lower end of its spread is \
the size after the last round.

**Context: corpus and queries.** The corpus is a tree of Markdown that is given to the command; \
the bars apply to the documentation of MDN, 14,593 files and 59 MB. It is first copied into a \
temporary directory. The benchmark generates the synthetic documents, which are the same in every \
run: about a kilobyte each, with words whose n-th most frequent is n times rarer than the first, \
and with planted words that occur in a fixed number of every thousand documents. Every query has a \
budget of 4,000 tokens. All files have been read before the measurement, so the page cache is warm \
for all programs, including the bare ones. Ratios are computed round by round, and the two sides \
take turns in going first.

**`resolve` on the command line** starts a new process for every query, and so does the bare \
program beside it: one thread that calls `statx` on every file that the cache lists, then reads \
and prints the files of the documents in the answer. The bare program gets their names in a list, \
so it parses no manifest, has no index and computes no score. A round is the median of 12 runs of \
each. *Oracle in memory* applies the documented rules of selection to every word of every \
document, with all documents in memory and without writing an answer.

**`resolve` on the server** is measured by a client of `context serve` on stdio. It sends 3,000 \
queries of one to six words: rare words (in at most ten documents), common words (in more than one \
of twenty documents), words in between, and stop words. A time starts before the request is \
written and ends when its answer is read. With `--no-watch` the server checks every file before \
every answer, as it does if directories cannot be watched; this has no bar. The comparison with \
the oracle uses the mean of five of these queries in each round. Both sides answer the same \
queries, and the benchmark fails if their bytes differ.

**Growth** compares the medians of 200 calls in each round; each size has its own server. **Memory \
of the server** is its resident size after these rounds, minus the size of `accelerator.idx` and \
`accelerator.sig`.

**Version 1 of the server** is measured by a client of `context serve PATH` on stdio, one call at a \
time. The four caches contain every fourth document of the corpus each, and are asked together; the \
other server has one cache of all documents. Both answer 1,000 queries of the same mix in each \
round, in turns of 25, and the means are compared. `context_get` reads 40 lines from anywhere in \
documents from all over the corpus, 3,000 times in each round. `search` with both tokenizers is the \
command line, a new process for each query: one query of each kind, 12 times in each round.

**Unread answers** are those to 64 calls of `context.resolve` on a cache of one document of 60 MB. \
When the server has used no processor time for a second, all 64 are read and matched with their \
calls. The memory is the highest resident size until the last one is read.

**Builds** are compared with one thread that creates, writes and closes the files of the same \
documents from memory, in a new directory, and ends with one `syncfs`; it reads no sources and \
makes no index. Before each measurement everything that was written earlier is synced. *Build* and \
all updates are measured without the index of passages (`--no-passages`). The memory of a build is \
measured in a separate build, which is not timed.

**Updates** follow the change of one file, a different file each time. Each round builds a cache, \
updates it once, then three times more, then three times in `update --watch`, and compares with the \
build of the same round; three updates count as their mean. In `--watch` the time begins when the \
file has been closed for the quiet time of 200 ms, and ends when the updated cache has the name of \
the old one. `stat` calls are counted by strace, all variants, those on directories and open files \
included.

**The log** is the crate itself, in the process of the benchmark, on the disk of the temporary \
directory, with lines as long as those of the workspace server. The bare loop beside it appends a \
line of that length to a file and calls `fdatasync`, one line after the other, without numbers, \
hashes or a lock. With several callers, each caller appends its next line when its previous line \
is durable. The number of appends per sync is counted, not derived. *Growth* compares a log of \
1,000 lines with one of a million, in turns; the bytes that an append reads are counted for both. \
*Verification* reads the million lines on one thread, from the page cache.

**`write_file`** is the tool with every gate, in the process of the benchmark, from the arguments \
to the durable record: it finds and checks a signed plan, compares it with the path, applies the \
policy (the default profile) to the content, writes the journal, makes the change and records it. \
The commands of the plan are not run. The bare program writes and syncs a temporary file, renames \
it over the file, and syncs the directory.

**The workspace server: plans and calls.** Each side has its own workspace and its own `candor \
workspace serve` on stdio, in which one plan is approved and all others are drafts. The sides take \
turns of a few calls, until each has had the time of a round, and the medians of the round are \
compared. A call is measured from its request to its answer, when its line is already in the log. \
`write_file` replaces a file of 4 KiB, and either names its plan or lets the server find the \
approved one. The first page of `list_plans` has 256 plans. The memory is the resident size of a \
new server that has listed all plans, page by page. `read_file` is called with `--max-rate \
1000000`, a limit that one call at a time never reaches, so that calls are counted but do not \
wait.

**`audit verify`** is a new process for each run, on a log of 20,000 calls. One side finds the \
checkpoint in the state directory of the workspace. The other one gets a copy of it with \
`--checkpoint`, and a state directory without any.

**Commands.** These bars need the sandbox at its level `full`. The bare program beside \
`run_command` is started anew for each run: it makes the same six namespaces (user, mount, PID, \
IPC, network and UTS) with one system call, starts itself again as process 1 of them, mounts a \
fresh `/proc` and becomes `true`. It hides no files, filters no system calls and records nothing; \
`run_command` also writes one durable line before the command starts and one after it. Of a \
command that prints 1 GiB, the memory is the highest resident size of the server afterwards, minus \
its resident size after a first command.

**Governed files** are 2,000 files of 8 KiB in 20 directories. Two plans of the same workspace run \
`true` on the same server: one has the files in `writable`, the other one does not. The figure is \
the difference of both, minus twice the time in which the benchmark reads and hashes all files on \
one thread. It can be negative.

**`cargo build`** builds a generated crate of 20,000 lines without dependencies. In the sandbox it \
is called with `run_command`, and outside it is the same cargo with the same variables. Before \
each build, the directory that it builds in is removed, and everything that was written is synced.

**Orders: the calls.** `candor orders serve --http` runs with its limits off and everything else \
as it is released. Beside it runs an axum handler that executes the same statements in the same \
transactions on pools of the same size, and nothing else: it parses what it needs into a small \
struct, checks nothing, has no deadline, no retry and no metrics, and answers with the rows as \
they are. Before the rounds, the benchmark reads the log of PostgreSQL and checks that both \
servers send the same statements one by one; on SQLite all texts but two are the same, and so are \
the settings of the connections. Changes on SQLite share commits, which the handler does not do. \
*get-orders \
by id* reads one of 10,000 orders of two lines. *create-sales-order* creates an order for an \
existing customer. *create, nothing in stock* is refused inside the transaction, and the refusal \
is kept with its key. Every change has a new key, and every commit is durable: SQLite runs with \
`synchronous = FULL`; PostgreSQL runs with `fsync` on, stores its data on the same disk, and is \
reached over a socket. Each server has its own store, which is new in every run. *CPU* covers the \
server's process only, not PostgreSQL.

**Pages** are the first twenty orders: of all orders, of those in one status, of one customer, or \
since one of ten moments. They are read from a store of 100,000 orders and from one of a million, \
each behind its own server. Both stores are spread over the same year, and a customer has a \
hundred orders in both. The stores are created once, with bulk statements, and kept for the next \
run. *Lookups* read the orders of a phone number or of a last name, of which there are a hundred \
each, or the one with an order name, an order number or a tracking number.

**Shared commits.** Two servers with a store each make the same changes in turn: one with \
`--commit-group 64`, which is the default, and one with `--commit-group 1`. The ratio depends on the \
disk: what a group shares is the sync, and on SQLite also the pages that its changes write. On a \
disk that syncs in 0.1 ms, a bare loop over SQLite with the statements of a create and nothing else \
makes 2,400 orders/s one by one and 4,800 in groups of 32, with a copy of the log into the file \
every 1,000 pages. All stores are verified with `candor orders verify`: new ones when they are \
filled, these also after their changes.

**A calm client beside a busy one.** Both have tokens of their own (`--clients`). The calm one reads \
an order and creates one, in turn; the busy one creates orders on 64 connections as fast as they \
are answered. The 99th percentile of the calm one's calls is compared with that of the calls that \
it makes alone, round by round.

To compare two builds of Candor, keep the older executable and measure both in the same rounds:

```
cargo xtask bench --beside FILE
```
";
