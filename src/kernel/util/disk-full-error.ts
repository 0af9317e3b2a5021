// Recognizes the errors by which systems and programs report a full disk. Pure. Tests:
// test/tables/kernel/crew/decide/halt.test.ts, test/e2e/crew/stopping.test.ts.

const DISK_FULL = /\bENOSPC\b|\bEDQUOT\b|No space left on device|Disk quota exceeded/i

export function isDiskFullError(text: string): boolean {
  return DISK_FULL.test(text)
}
