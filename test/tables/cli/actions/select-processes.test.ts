// The words of `kill`, `stop` and others name or select each process once.
import { expect, test } from 'vitest'
import { selectProcesses } from '../../../../src/cli/actions/select-processes.ts'
import { Args } from '../../../../src/cli/input/args.ts'
import type { Reeve } from '../../../../src/index.ts'

const LIVING = ['web1', 'web2', null].map((name, index) => ({
  uuid: `01960000-0000-7000-8000-00000000000${index + 1}`,
  pid: index + 1,
  parentUuid: null,
  name,
  status: 'working',
  driver: 'command',
  role: null,
  labels: {},
}))

const reeve = { list: () => Promise.resolve(LIVING) } as unknown as Reeve
const UUID_OF_3 = '01960000-0000-7000-8000-000000000003'

test.each<[words: readonly string[], refs: readonly string[]]>([
  [['1'], ['1']],
  [['1', '1'], ['1']],
  [
    ['1', '2'],
    ['1', '2'],
  ],
  [['web1', '1'], ['web1']],
  [
    ['3', UUID_OF_3, '2'],
    ['3', '2'],
  ],
  [
    ['9', 'none', '9'],
    ['9', 'none'],
  ],
  [
    ['2', 'web*'],
    ['2', LIVING[0]?.uuid ?? ''],
  ],
])('%j', async (words, refs) => {
  const rules = { canActOn: () => true, adjective: 'living', leavesChildrenToOwner: true }
  const targets = await selectProcesses({ args: new Args([...words], null, new Map()), reeve }, rules)
  expect(targets.map(({ ref }) => ref)).toEqual(refs)
})
