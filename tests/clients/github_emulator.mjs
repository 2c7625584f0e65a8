// Starts the emulator of GitHub on a free port with the state that stdin's first line describes, prints its
// address, and ends with its standard input.
import { createEmulator } from "emulate";
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { value: seed } = await lines.next();
const emulator = await createEmulator({ service: "github", port: 0, seed: JSON.parse(seed) });
console.log(emulator.url);
await lines.next();
await emulator.close();
