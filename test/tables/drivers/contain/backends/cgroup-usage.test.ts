// The files of a cgroup v2 as the kernel's documentation describes them, in a directory that imitates one: values are read from them
// and written to them. The kernel's reaction is tested only where it has the memory controller.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cpuTimeOf, enableMemory, limitMemory, memoryOf } from '../../../../../src/drivers/contain/backends/cgroup-usage.ts'
import { tempDir } from '../../../../support/tmp.ts'

const CPU = 'usage_usec 1234500\nuser_usec 1000000\nsystem_usec 234500\n'
const EVENTS = (oom: number, kill: number): string => `low 0\nhigh 0\nmax 7\noom ${oom}\noom_kill ${kill}\noom_group_kill 0\n`

async function makeGroup(files: Readonly<Record<string, string>>) {
  const tmp = await tempDir()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(tmp.path, name), text)
  return {
    dir: tmp.path,
    read: (name: string) => readFileSync(join(tmp.path, name), 'utf8'),
    [Symbol.asyncDispose]: () => tmp[Symbol.asyncDispose](),
  }
}

test('the CPU time is read in ms', async () => {
  await using group = await makeGroup({ 'cpu.stat': CPU })
  expect(cpuTimeOf(group.dir)).toBe(1234.5)
  expect(cpuTimeOf(join(group.dir, 'gone'))).toBeNull()
})

test('the current memory and its peak are read', async () => {
  await using group = await makeGroup({ 'memory.current': '4096\n', 'memory.peak': '8192\n', 'memory.events': EVENTS(0, 0) })
  expect(memoryOf(group.dir)).toEqual({ nowBytes: 4096, peakBytes: 8192, hasReachedLimit: false })
})

test('the memory is unknown without the controller, and the peak is unknown with an older kernel', async () => {
  await using withoutMemory = await makeGroup({ 'cpu.stat': CPU })
  expect(memoryOf(withoutMemory.dir)).toBeNull()
  await using withoutPeak = await makeGroup({ 'memory.current': '4096\n' })
  expect(memoryOf(withoutPeak.dir)).toEqual({ nowBytes: 4096, peakBytes: null, hasReachedLimit: false })
})

const ENDS: readonly (readonly [what: string, oom: number, kill: number, hasReachedLimit: boolean])[] = [
  ['nothing happened', 0, 0, false],
  ['the limit was reached and memory was found', 1, 0, false],
  ['the limit was reached and a member was killed', 1, 3, true],
  ['the machine had no memory left, and chose a member', 0, 1, false],
]

test.each(ENDS)('whether the memory limit has ended a program is read correctly if %s', async (_, oom, kill, hasReachedLimit) => {
  await using group = await makeGroup({ 'memory.current': '1\n', 'memory.events': EVENTS(oom, kill) })
  expect(memoryOf(group.dir)?.hasReachedLimit).toBe(hasReachedLimit)
})

test('a limit allows no swap, and makes the kernel kill the whole group', async () => {
  await using group = await makeGroup({ 'memory.max': 'max\n', 'memory.swap.max': 'max\n', 'memory.oom.group': '0\n' })
  limitMemory(group.dir, 1_000)
  expect(['memory.max', 'memory.swap.max', 'memory.oom.group'].map(group.read)).toEqual(['1000', '0', '1'])
  limitMemory(group.dir, null)
  expect(group.read('memory.max')).toBe('max')
})

test('a limit for a missing group does nothing', async () => {
  await using group = await makeGroup({})
  limitMemory(join(group.dir, 'gone'), 1_000)
  expect(() => group.read('gone/memory.max')).toThrow('ENOENT')
})

test('a limit needs no swap file of a kernel without swap accounting', async () => {
  await using group = await makeGroup({ 'memory.max': 'max\n' })
  limitMemory(group.dir, 1_000)
  expect(group.read('memory.max')).toBe('1000')
})

test('the memory controller is enabled in each directory that lacks it', async () => {
  await using group = await makeGroup({ 'cgroup.subtree_control': 'cpu memory\n' })
  const inner = join(group.dir, 'inner')
  mkdirSync(inner)
  writeFileSync(join(inner, 'cgroup.subtree_control'), '')
  expect(enableMemory([group.dir, inner])).toBe(true)
  expect(group.read('cgroup.subtree_control')).toBe('cpu memory\n')
  expect(group.read('inner/cgroup.subtree_control')).toBe('+memory')
  expect(enableMemory([group.dir, join(group.dir, 'gone', 'deeper')])).toBe(false)
})
