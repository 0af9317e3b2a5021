// Creates a small home with this version of reeve and packs its store into a file. Each released version adds a file, and every
// later version must open all of them (test/processes/daemon/old-homes.test.ts). The daemon is killed, so that the store has a
// write-ahead log. Run: node test/support/homes/make-home.ts test/support/homes/VERSION.home
import { writeFileSync } from 'node:fs'
import { DaemonHome } from '../daemon/daemon-home.ts'
import { packStore } from './pack.ts'

const [target = ''] = process.argv.slice(2)
const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' }
const steps = [1, 2, 3].map((step) => ({ text: `step ${step}`, tools: [{ name: 'glob', input: { pattern: `${step}*` } }] }))

await using home = await DaemonHome.create('source')
await home.start()
const model = home.writeScript([...steps, { text: 'done' }])
const done = await home.waitForEnd((await home.spawn({ name: 'done', model, env })).uuid)
await home.waitForEnd((await home.spawn({ name: 'removed', model, env })).uuid)
await home.waitForEnd((await home.resume('done', { fork: true, fromStep: 2, name: 'forked' })).uuid)
await home.client.delete('/v1/processes/removed')
await home.waitForEnd((await home.spawn({ name: 'command', argv: ['echo', 'a long line '.repeat(2_000)], env })).uuid)
await home.client.post(`/v1/processes/${done.uuid}/pin`, { pinned: true })
await home.spawn({ name: 'paused', model, interactive: true, env })
await home.waitForView('paused', ({ status }) => status === 'ready')
await home.pause('paused')
await home.spawn({ name: 'cut', model, interactive: true, env })
await home.waitForView('cut', ({ status }) => status === 'ready')
await home.kill()
writeFileSync(target, packStore(home.paths.state))
await home.waitUntilNothingIsLeft()
