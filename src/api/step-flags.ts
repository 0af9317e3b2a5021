// What the bits in the column `flags` of brief steps mean. Part of the API: a bit never changes its meaning. Test:
// test/tables/daemon/steps/brief-steps.test.ts.

export const STEP_FLAGS = {
  /** the model call or a tool call has no outcome */
  open: 1,
  /** a tool call failed, was denied or was interrupted */
  failed: 2,
  /** a tool call may have changed something */
  writes: 4,
  /** the user was asked */
  asked: 8,
  /** the process was held */
  held: 16,
  /** the context was compacted after the step */
  compacted: 32,
  /** the model call was repeated */
  retried: 64,
  /** the recorded files differ from those of the previous record */
  files: 128,
  /** a checkpoint was written */
  checkpoint: 256,
} as const
