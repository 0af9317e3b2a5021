// The unit of size limits that are stated in MiB. Test: test/processes/acp/hostile.test.ts.

/** The number of bytes in one MiB. */
export const MIB = 1024 * 1024
