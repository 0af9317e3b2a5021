// Starts an agent and shows what it does while it does it: what it says, the tools that it calls, how it ends.
// node examples/follow-events.ts "Find the longest function in this folder."
import { connect, type EventView } from 'reeve'

type Part = { readonly type: string; readonly text?: string }

/** What is shown of an event; docs/api.md has the fields of each type. */
function linesOf(event: EventView): string[] {
  switch (event.type) {
    case 'step.finished': return (event['message'] as Part[]).flatMap((part) => (part.type === 'text' && part.text ? [part.text] : []))
    case 'tool.started': return [`[${String(event['name'])}]`]
    case 'process.exited': return [(event['exit'] as { reason: string }).reason]
    default: return []
  }
}

await using reeve = connect()
const { uuid } = await reeve.spawn({ intent: process.argv[2] ?? 'Find the longest function in this folder.' })
// The stream begins with the first event, however late it is opened, and ends with the process.
for await (const event of reeve.events({ process: uuid, follow: true })) {
  for (const line of linesOf(event)) console.log(line)
}
