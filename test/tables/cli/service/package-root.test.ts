// The directory of the package, found from a file in it.
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../../src/cli/service/package-root.ts'

test('the package is found from its sources', () => expect(packageRoot()).toBe(resolve(import.meta.dirname, '../../../..')))
