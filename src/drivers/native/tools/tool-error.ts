// The errors of tool calls; the model gets their messages. Separate from tool.ts, so that the worker of the file tools does
// not load the schema library.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import type { CapabilityName } from '../../../kernel/model/facts.ts'

export class ToolError extends Error {}

/** The error of a call that needs a capability that the process does not have. The refusal is also reported to the kernel. */
export class RefusedError extends ToolError {
  readonly capability: CapabilityName

  constructor(capability: CapabilityName, message: string) {
    super(message)
    this.capability = capability
  }
}
