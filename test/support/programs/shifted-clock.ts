// Loaded before a daemon: shifts its wall clock by the number of ms in the file REEVE_TEST_CLOCK, and follows the file.
// The monotonic clock stays right, as on a machine whose time is set. Test: test/processes/crash/random-kills.test.ts.
import { readFileSync } from 'node:fs'

const file = process.env['REEVE_TEST_CLOCK'] ?? ''
const realNow = Date.now

function offsetMs(): number {
  try {
    return Number(readFileSync(file, 'utf8')) || 0
  } catch {
    return 0 // the file is missing until the first shift
  }
}

Date.now = () => realNow() + offsetMs()
