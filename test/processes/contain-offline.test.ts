// Programs without a network, in each kind of containment: a real one that tries to reach a real server does not, and all else
// is as ever: its words, its signals, how it ends, and that nothing of it is left.
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Containment } from '../../src/drivers/contain/contain.ts'
import type { ContainmentKind } from '../../src/kernel/types.ts'
import { UUID, announced, newContained, textOf, workingKinds } from '../support/contained.ts'
import type { Contained } from '../support/contained.ts'
import { eventually, sleepersWith } from '../support/living.ts'

const kinds = await workingKinds()
const trial = await newContained()
const works = await trial.container.checkOffline().then(() => true, () => false)
await trial[Symbol.asyncDispose]()

/** Says for each `HOST:PORT` whether it could be reached. */
const REACH = `const { connect } = require('node:net')
for (const place of process.argv.slice(1)) {
  const [port, ...host] = place.split(':').reverse()
  const socket = connect({ host: host.reverse().join(':'), port: Number(port), timeout: 5000 })
  socket.on('connect', () => { console.log('reached'); socket.destroy() }).on('error', ({ code }) => console.log(code)).on('timeout', () => { console.log('TIMEOUT'); socket.destroy() })
}`

let contained: Contained
const server = createServer((socket) => socket.end())
let places: string[]

beforeEach(async () => {
  contained = await newContained()
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const own = Object.values(networkInterfaces()).flat().flatMap((one) => (one && one.family === 'IPv4' ? [one.address] : []))
  places = [...new Set(['127.0.0.1', ...own])].map((address) => `${address}:${port}`)
})
afterEach(async () => {
  server.close()
  await once(server, 'close')
  await contained[Symbol.asyncDispose]()
})

function open(kind: ContainmentKind, network?: 'off'): Promise<Containment> {
  const { container, dir } = contained
  return container.open(container.plan(UUID, network ? 1 : 2, kind), dir, network)
}

async function reached(containment: Containment): Promise<string[]> {
  const program = await containment.spawn(contained.request([process.execPath, '-e', REACH, '--', ...places]))
  return (await textOf(program.stdout)).trim().split('\n')
}

describe.runIf(works).each(kinds)('in %s', (kind) => {
  test('no address is reached, not even one of the same machine', async () => {
    expect(await reached(await open(kind))).toEqual(places.map(() => 'reached'))
    expect(await reached(await open(kind, 'off'))).toEqual(places.map(() => expect.stringMatching(/^E(NETUNREACH|ADDRNOTAVAIL)/)))
  })

  test('its children and what leaves its session have none either', async () => {
    const containment = await open(kind, 'off')
    const program = await containment.spawn(contained.request(['sh', '-c', 'setsid sh -c "cat /proc/net/dev; cat /proc/net/tcp" | wc -l']))
    const [devices] = (await textOf(program.stdout)).trim().split('\n')
    // Two lines of heads, a loopback device that is down, one line of heads, and no socket.
    expect(devices?.trim()).toBe('4')
  })

  test('words, directory and exit code are as ever', async () => {
    const containment = await open(kind, 'off')
    const program = await containment.spawn(contained.request(['sh', '-c', 'pwd; printf "%s|" "$@"; id -u; exit 7', 'sh', 'a b', '--net', '']))
    expect(await textOf(program.stdout)).toBe(`${contained.dir}\na b|--net||${process.getuid?.()}\n`)
    expect(await program.exited).toEqual({ code: 7, signal: null })
  })

  test('it is signalled, frozen, and ended with all that it left behind', async () => {
    const containment = await open(kind, 'off')
    const script = `setsid sleep 3600.${contained.token} & trap 'echo told' TERM; echo up; while :; do sleep 1 & wait $!; done`
    const program = await containment.spawn(contained.request(['sh', '-c', script]))
    await announced(program, 'up')
    await eventually(() => sleepersWith(contained.token).length === 1, 'it sleeps')
    await containment.freeze()
    await containment.thaw()
    const told = announced(program, 'told')
    expect(program.signal('SIGTERM')).toBe(true)
    await told
    expect((await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).outcome).toBe('killed')
    expect(sleepersWith(contained.token)).toEqual([])
  })
})

test('what cannot be started is told as ever', async () => {
  if (!works) return
  const containment = await open(contained.container.kind, 'off')
  await expect(containment.spawn(contained.request(['no-such-program']))).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND' })
})
