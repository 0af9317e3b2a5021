// The error of a tool call; the model gets its message. Separate from tool.ts, because the worker of the file tools loads no
// packages.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
export class ToolError extends Error {}
