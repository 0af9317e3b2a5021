// Checks whether a path exists and the daemon can reach it. The result may be out of date at once: a later access may still fail.
// Test: test/tables/drivers/common/make-dirs.test.ts.
import { access } from 'node:fs/promises'

export async function pathExists(path: string | Buffer): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
