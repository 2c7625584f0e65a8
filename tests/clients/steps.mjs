// The part every Node runner shares: it reads the order and the requests from
// stdin, takes a session through connect, list, each request and close under
// one time limit each, and prints one JSON line per step. What a step finds out
// is the session's business; nothing here judges it.

import { createInterface } from "node:readline";

const STEP_LIMIT_MS = 60_000;

class StepTimeout extends Error {}

// Runs one order. `openSession(order)` gives an object with
//   connect(signal) -> {protocol, server, instructions},
//   list(signal)    -> names of the tools,
//   call({name, arguments}, signal), resources({cursor}, signal),
//   read({uri}, signal) -> the facts of one outcome,
//   close()         -> nothing,
//   failure(error)  -> the facts of an outcome that came as an exception.
export async function run(openSession) {
  keepStdoutForReports();
  process.on("unhandledRejection", (error) => console.error(error));
  process.exitCode = await runOrder(openSession);
  process.stdin.destroy();
  endOnceIdle();
}

// A client may still be ending the server it started; that keeps the process
// alive until it is done, within one more limit.
function endOnceIdle() {
  setTimeout(() => process.exit(), STEP_LIMIT_MS).unref();
}

async function runOrder(openSession) {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  let session;
  try {
    session = openSession(await readLine(lines));
  } catch (error) {
    report({ step: "connect", ok: false, ...refusal(error) });
    return 1;
  }
  const connected = await step(session, (signal) => session.connect(signal));
  if (connected.failed) {
    report({ step: "connect", ok: false, ...connected.failed });
    await step(session, () => session.close());
    return 1;
  }
  report({ step: "connect", ok: true, ...connected.value });
  await reportList(session);
  await reportRequests(session, lines);
  await reportClose(session);
  return 0;
}

async function reportList(session) {
  const listed = await step(session, (signal) => session.list(signal));
  report({ step: "list", ...(listed.failed ?? { tools: listed.value }) });
}

// A request is an object with one member: the name of its step.
async function reportRequests(session, lines) {
  let request;
  for (let index = 0; (request = await readLine(lines)) !== undefined; index += 1) {
    const [[kind, given]] = Object.entries(request);
    const done = await step(session, (signal) => session[kind](given, signal));
    report({ step: kind, index, ...(done.failed ?? done.value) });
  }
}

async function reportClose(session) {
  const closed = await step(session, () => session.close());
  report({ step: "close", ok: !closed.failed, ...closed.failed });
}

// Takes one step: its value, or the facts of how it failed.
async function step(session, action) {
  try {
    return { value: await limited(action) };
  } catch (error) {
    if (error instanceof StepTimeout) {
      return { failed: { outcome: "refused", reason: "timeout" } };
    }
    return { failed: session.failure(error) };
  }
}

function limited(action) {
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new StepTimeout());
      controller.abort(new Error("timeout"));
    }, STEP_LIMIT_MS);
    Promise.resolve()
      .then(() => action(controller.signal))
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

// The next line of stdin as JSON, or undefined at its end.
async function readLine(lines) {
  const { value, done } = await lines.next();
  return done ? undefined : JSON.parse(value);
}

function report(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

// Libraries write notes to the console; stdout is for the report alone.
function keepStdoutForReports() {
  console.log = console.info = console.debug = console.error;
}

// The facts of a refusal by the client itself.
export function refusal(error) {
  return { outcome: "refused", reason: describe(error) };
}

function describe(error) {
  if (!(error instanceof Error)) return String(error);
  const own = `${error.name}: ${error.message}`;
  return error.cause === undefined ? own : `${own} (${describe(error.cause)})`;
}

// The facts of a tool result, in the words of the report.
export function resultFacts(result) {
  const { content, structuredContent, isError, _meta, ...extra } = result;
  return {
    outcome: "result",
    is_error: isError ?? false,
    content: content ?? null,
    structured: structuredContent ?? null,
    meta: _meta ?? null,
    extra,
  };
}

// One member of a result under its own name, and the others as `extra`.
export function partFacts(result, part) {
  const { [part]: value, ...extra } = result;
  return { outcome: "result", [part]: value, extra };
}

// The options of an HTTP transport: the token, if the target has one.
export function httpOptions({ token }) {
  if (token === undefined) return {};
  return { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
}

// Name and version of a server, without whatever else it says of itself.
export function serverFacts(info) {
  if (!info) return null;
  return { name: info.name ?? null, version: info.version ?? null };
}

// Notes, per transport, whether the last answer received was a JSON-RPC
// error. The clients throw one and the same class for errors they received
// and for checks of their own; this tells the two apart.
export function watchAnswers(transport) {
  const seen = { error: false };
  transport.onmessage = (message) => {
    if ("result" in message || "error" in message) {
      seen.error = "error" in message;
    }
  };
  return {
    forget: () => {
      seen.error = false;
    },
    failure: (error) => (seen.error ? errorFacts(error) : refusal(error)),
  };
}

function errorFacts(error) {
  return {
    outcome: "error",
    code: error.code ?? null,
    message: error.message,
    data: error.data ?? null,
  };
}
