// Judges arguments by published schemas with AJV. The first line of stdin is an object with a schema for each
// tool, every further line a `[tool, arguments]`; the report has `true` or `false` for each of them.
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { createInterface } from "node:readline";

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
let validators;
for await (const line of createInterface({ input: process.stdin })) {
  const value = JSON.parse(line);
  if (validators === undefined) {
    const compiled = Object.entries(value).map(([tool, schema]) => [tool, ajv.compile(schema)]);
    validators = new Map(compiled);
  } else {
    const [tool, args] = value;
    console.log(validators.get(tool)(args));
  }
}
