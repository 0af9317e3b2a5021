// The error of a tool call; the model gets its message. Separate from tool.ts, so that the worker of the file tools does
// not load the schema library.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
export class ToolError extends Error {}
