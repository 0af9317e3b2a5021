// The run that a verb of compose selects without a name.
import { describe, expect, test } from 'vitest'
import { pickLivingRun, pickRun } from '../../../../src/cli/input/which-run.ts'
import type { RunView } from '../../../../src/api/views/compose.ts'

describe('the run that a verb selects without a name', () => {
  const runWith = (pid: number, file: string, status: RunView['status'] = 'ready'): RunView =>
    ({ pid, name: `r${pid}`, file, status, exitedAt: status === 'ready' ? null : '2026-11-20T10:00:00.000Z' }) as RunView
  const runs = [
    runWith(4, '/other/reeve.yaml'),
    runWith(3, '/src/app/reeve.yaml', 'completed'),
    runWith(2, '/src/app/reeve.yaml'),
    runWith(1, '/src/application/reeve.yaml'),
  ]

  test('is the newest run of this directory or one above it, else the newest of all', () => {
    expect(pickRun(runs, '/src/app').pid).toBe(3)
    expect(pickRun(runs, '/src/app/deep/er').pid).toBe(3)
    expect(pickRun(runs, '/src/application').pid).toBe(1)
    expect(pickRun(runs, '/elsewhere').pid).toBe(4)
    expect(pickRun([runWith(7, '/reeve.yaml')], '/any').pid).toBe(7)
    expect(() => pickRun([], '/src')).toThrow('there is no run')
  })

  test('is a living run for a verb that stops it: that of this directory, or the only one', () => {
    expect(pickLivingRun(runs, '/src/app').pid).toBe(2)
    expect(pickLivingRun([runWith(1, '/other/reeve.yaml')], '/src/app').pid).toBe(1)
    expect(() => pickLivingRun(runs, '/elsewhere')).toThrow('no run of this directory is alive; others: r4, r2, r1')
    expect(() => pickLivingRun([runWith(1, '/src/app/reeve.yaml', 'stopped')], '/src/app')).toThrow('no run is alive')
  })
})
