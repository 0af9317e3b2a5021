// Programs without a network, in each kind of containment: a real program cannot reach a real server. Everything else works as
// usual: arguments, signals, exit, and that nothing is left.
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Containment } from '../../../src/drivers/contain/containment-contract.ts'
import {
  PROCESS_UUID,
  waitForOutput,
  openContainmentHarness,
  readText,
  findWorkingKinds,
} from '../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { findSleepersWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const kinds = await findWorkingKinds()
const trial = await openContainmentHarness()
const canGoOffline = await trial.manager.checkOffline().then(
  () => true,
  () => false,
)
await trial[Symbol.asyncDispose]()

/** Prints for each `HOST:PORT` whether it is reachable. */
const CONNECT_PROGRAM = `const { connect } = require('node:net')
for (const place of process.argv.slice(1)) {
  const [port, ...host] = place.split(':').reverse()
  const socket = connect({ host: host.reverse().join(':'), port: Number(port), timeout: 5000 })
  socket.on('connect', () => { console.log('reached'); socket.destroy() }).on('error', ({ code }) => console.log(code)).on('timeout', () => { console.log('TIMEOUT'); socket.destroy() })
}`

let contained: ContainmentHarness
const server = createServer((socket) => socket.end())
let addresses: string[]

beforeEach(async () => {
  contained = await openContainmentHarness()
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ownAddresses = Object.values(networkInterfaces())
    .flat()
    .flatMap((one) => (one && one.family === 'IPv4' ? [one.address] : []))
  addresses = [...new Set(['127.0.0.1', ...ownAddresses])].map((address) => `${address}:${port}`)
})
afterEach(async () => {
  server.close()
  await once(server, 'close')
  await contained[Symbol.asyncDispose]()
})

function open(kind: ContainmentKind, network?: 'off'): Promise<Containment> {
  const { manager, dir } = contained
  return manager.open(manager.plan(PROCESS_UUID, network ? 1 : 2, kind), dir, network)
}

async function probeAddresses(containment: Containment): Promise<string[]> {
  const program = await containment.spawn(contained.request([process.execPath, '-e', CONNECT_PROGRAM, '--', ...addresses]))
  return (await readText(program.stdout)).trim().split('\n')
}

describe.runIf(canGoOffline).each(kinds)('in %s', (kind) => {
  test('no address is reachable, not even one of the same machine', async () => {
    expect(await probeAddresses(await open(kind))).toEqual(addresses.map(() => 'reached'))
    expect(await probeAddresses(await open(kind, 'off'))).toEqual(addresses.map(() => expect.stringMatching(/^E(NETUNREACH|ADDRNOTAVAIL)/)))
  })

  test('children and programs in other sessions have no network either', async () => {
    const containment = await open(kind, 'off')
    const program = await containment.spawn(contained.request(['sh', '-c', 'setsid sh -c "cat /proc/net/dev; cat /proc/net/tcp" | wc -l']))
    const [devices] = (await readText(program.stdout)).trim().split('\n')
    // Two lines of headings and the loopback device, which is down; one line of headings and no socket.
    expect(devices?.trim()).toBe('4')
  })

  test('arguments, directory and exit code work as usual', async () => {
    const containment = await open(kind, 'off')
    const program = await containment.spawn(
      contained.request(['sh', '-c', 'pwd; printf "%s|" "$@"; id -u; exit 7', 'sh', 'a b', '--net', '']),
    )
    expect(await readText(program.stdout)).toBe(`${contained.dir}\na b|--net||${process.getuid?.()}\n`)
    expect(await program.exited).toEqual({ code: 7, signal: null })
  })

  test('after a freeze and a thaw a signal reaches the program, and a stop ends all that the program started', async () => {
    const containment = await open(kind, 'off')
    const script = `setsid sleep 3600.${contained.token} & trap 'echo signalled' TERM; echo up; while :; do sleep 1 & wait $!; done`
    const program = await containment.spawn(contained.request(['sh', '-c', script]))
    await waitForOutput(program, 'up')
    await waitUntil(() => findSleepersWith(contained.token).length === 1, 'it sleeps')
    await containment.freeze()
    await containment.thaw()
    const signalLine = waitForOutput(program, 'signalled')
    expect(program.signal('SIGTERM')).toBe(true)
    await signalLine
    expect((await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).outcome).toBe('killed')
    expect(findSleepersWith(contained.token)).toEqual([])
  })
})

test.runIf(canGoOffline)('a failed start is reported as usual', async () => {
  const containment = await open(contained.manager.kind, 'off')
  await expect(containment.spawn(contained.request(['no-such-program']))).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
})

describe('a socket that cannot be hidden', () => {
  const missingPaths = { socket: '/nowhere/own', over: '/nowhere/daemon', dir: '/nowhere/doors' }
  const openWith = (isNeeded: boolean): Promise<Containment> =>
    contained.manager.open(contained.manager.plan(PROCESS_UUID, 1, 'group'), contained.dir, undefined, { ...missingPaths, isNeeded })

  test('prevents the start of an agent that runs programs, which could exceed its limits', async () => {
    await expect(openWith(true)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('cannot be hidden'),
      hint: expect.stringContaining('--deny bash'),
    })
  })

  test('allows an agent without programs, which then can start none at all', async () => {
    const containment = await openWith(false)
    await expect(containment.spawn(contained.request(['true']))).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('cannot be hidden'),
    })
    expect(await containment.dispose()).toMatchObject({ survivors: [] })
  })
})
