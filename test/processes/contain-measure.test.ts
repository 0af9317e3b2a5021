// What real programs use, in each kind of containment that works here: also of such as ended before anybody had looked.
import { describe, expect, test } from 'vitest'
import { announced, newContained, textOf, workingKinds } from '../support/contained.ts'

const kinds = await workingKinds()
const MB = 1_000_000

/** Takes CPU time by its own count, so that a slow machine changes nothing. */
const BURN = `const begun = process.cpuUsage(); for (let used = 0; used < 300e3;) { const { user, system } = process.cpuUsage(begun); used = user + system }`
const BURN_TWICE = `${BURN}; require('node:child_process').execFileSync(process.execPath, ['-e', ${JSON.stringify(BURN)}]); process.stdout.write('x'.repeat(5000)); process.stderr.write('y'.repeat(7))`
const HOLD = `globalThis.held = Buffer.alloc(${150 * MB}, 1); console.log('held'); process.stdin.resume()`
/** CPU time is counted in ticks of 10 ms, of each of four processes. */
const TICKS_MS = 40

describe.each(kinds)('%s', (kind) => {
  test('CPU time of a program and of its child, and what they wrote, when they have ended', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    expect(containment.measure()).toBeNull()
    const program = await containment.spawn(contained.request([process.execPath, '-e', BURN_TWICE]))
    const [out, words] = await Promise.all([textOf(program.stdout), textOf(program.stderr), program.exited])
    expect([out.length, words.length]).toEqual([5_000, 7])
    const used = containment.measure()
    expect(used?.cpuTimeMs).toBeGreaterThan(600 - TICKS_MS)
    expect(used).toMatchObject({ outputBytes: 5_007, rssBytes: 0, outOfMemory: false })
    await containment.dispose()
    const last = containment.measure()
    expect(last).toMatchObject({ outputBytes: 5_007, rssBytes: 0, outOfMemory: false })
    // The last of its threads may still be charged for its own end.
    expect((last?.cpuTimeMs ?? 0) - (used?.cpuTimeMs ?? 0)).toBeLessThan(TICKS_MS)
  })

  test('the memory of one that runs, and the CPU time of one that was killed', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request([process.execPath, '-e', `${BURN}; ${HOLD}`], { stdin: 'pipe' }))
    await announced(program, 'held')
    const used = containment.measure()
    expect(used?.rssBytes).toBeGreaterThan(150 * MB)
    expect(used?.cpuTimeMs).toBeGreaterThan(300 - TICKS_MS)
    await containment.dispose()
    expect(containment.measure()?.cpuTimeMs).toBeGreaterThanOrEqual(used?.cpuTimeMs ?? Infinity)
    expect(containment.measure()?.rssBytes).toBe(0)
  })

  test('a limit that is near is measured exactly: what two share is counted once', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    containment.limitMemory(60 * MB)
    // What runs behind has no stdin, unless it is given another number. The copy of a shell has all its pages in common with the shell until it writes them.
    const script = `exec 3<&0; x=$(head -c ${40 * MB} /dev/zero | tr '\\0' x); (echo copied; read -r line <&3; :) & wait`
    const program = await containment.spawn(contained.request(['sh', '-c', script], { stdin: 'pipe' }))
    await announced(program, 'copied')
    const exact = containment.measure()?.rssBytes ?? 0
    containment.limitMemory(null)
    const summed = containment.measure()?.rssBytes ?? 0
    expect(exact).toBeGreaterThan(40 * MB)
    expect(exact).toBeLessThan(0.75 * summed)
    await containment.dispose()
  })
})
