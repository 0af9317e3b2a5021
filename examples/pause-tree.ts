// Pauses a process with all its descendants, as before a deployment, and resumes them.
// node examples/pause-tree.ts
import { connect } from 'reeve'

await using reeve = connect()
const root = await reeve.spawn({ argv: ['sleep', '600'] })
const children = await Promise.all([1, 2].map(() => reeve.spawn({ argv: ['sleep', '600'], parent: root.uuid })))
const all = [root, ...children].map(({ uuid }) => uuid)

const statuses = async (): Promise<string> => (await Promise.all(all.map((uuid) => reeve.get(uuid)))).map(({ status }) => status).join(' ')

const { affected } = await reeve.pause(root.uuid, { subtree: true, now: true })
console.log(`paused ${affected}: ${await statuses()}`)
await reeve.resume(root.uuid, { subtree: true })
console.log(`resumed: ${await statuses()}`)
const stopped = await reeve.signalTree(root.uuid, 'SIGKILL')
await Promise.all(all.map((uuid) => reeve.wait(uuid)))
console.log(`stopped ${stopped.affected}: ${await statuses()}`)
for (const uuid of all) await reeve.remove(uuid)
