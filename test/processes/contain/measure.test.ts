// The usage of real programs, in each kind of containment that works here, also of programs that exited before the first measurement.
import { describe, expect, test } from 'vitest'
import { waitForOutput, openContainmentHarness, readText, findWorkingKinds } from '../../support/agents/containment-harness.ts'

const kinds = await findWorkingKinds()
const MB = 1_000_000

/** Uses CPU time by its own clock, so that a slow machine changes nothing. */
const BURN = `const begun = process.cpuUsage(); for (let used = 0; used < 300e3;) { const { user, system } = process.cpuUsage(begun); used = user + system }`
const BURN_TWICE = `${BURN}; require('node:child_process').execFileSync(process.execPath, ['-e', ${JSON.stringify(BURN)}]); process.stdout.write('x'.repeat(5000)); process.stderr.write('y'.repeat(7))`
const HOLD = `globalThis.held = Buffer.alloc(${150 * MB}, 1); console.log('held'); process.stdin.resume()`
/** The largest error of the CPU time: it is counted in ticks of 10 ms, and up to four processes are measured. */
const TICK_ERROR_MS = 40

describe.each(kinds)('%s', (kind) => {
  test('the CPU time and written bytes of a program and its child are known after their exit', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    expect(containment.measure()).toBeNull()
    const program = await containment.spawn(contained.request([process.execPath, '-e', BURN_TWICE]))
    const [stdout, stderr] = await Promise.all([readText(program.stdout), readText(program.stderr), program.exited])
    expect([stdout.length, stderr.length]).toEqual([5_000, 7])
    const usage = containment.measure()
    expect(usage?.cpuTimeMs).toBeGreaterThan(600 - TICK_ERROR_MS)
    expect(usage).toMatchObject({ outputBytes: 5_007, rssBytes: 0, outOfMemory: false })
    await containment.dispose()
    const lastUsage = containment.measure()
    expect(lastUsage).toMatchObject({ outputBytes: 5_007, rssBytes: 0, outOfMemory: false })
    // Its last thread may still be charged for its exit.
    expect((lastUsage?.cpuTimeMs ?? 0) - (usage?.cpuTimeMs ?? 0)).toBeLessThan(TICK_ERROR_MS)
  })

  test('the memory of a running program is measured, and the CPU time of a killed one is known', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request([process.execPath, '-e', `${BURN}; ${HOLD}`], { stdin: 'pipe' }))
    await waitForOutput(program, 'held')
    const usage = containment.measure()
    expect(usage?.rssBytes).toBeGreaterThan(150 * MB)
    expect(usage?.cpuTimeMs).toBeGreaterThan(300 - TICK_ERROR_MS)
    await containment.dispose()
    expect(containment.measure()?.cpuTimeMs).toBeGreaterThanOrEqual(usage?.cpuTimeMs ?? Infinity)
    expect(containment.measure()?.rssBytes).toBe(0)
  })

  test('near a limit memory is measured exactly: shared memory counts once', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    containment.limitMemory(60 * MB)
    // A background program has no stdin, unless it gets another descriptor. The copy of a shell shares all its pages with the shell until
    // it writes them.
    const script = `exec 3<&0; x=$(head -c ${40 * MB} /dev/zero | tr '\\0' x); (echo copied; read -r line <&3; :) & wait`
    const program = await containment.spawn(contained.request(['sh', '-c', script], { stdin: 'pipe' }))
    await waitForOutput(program, 'copied')
    const exactBytes = containment.measure()?.rssBytes ?? 0
    containment.limitMemory(null)
    const summedBytes = containment.measure()?.rssBytes ?? 0
    expect(exactBytes).toBeGreaterThan(40 * MB)
    expect(exactBytes).toBeLessThan(0.75 * summedBytes)
    await containment.dispose()
  })
})
