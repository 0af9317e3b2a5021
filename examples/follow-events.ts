// Starts an agent and prints its events as they happen: its texts, its tool calls and its end.
// node examples/follow-events.ts "Find the longest function in this folder."
import { connect, type EventView } from 'reeve'

type Part = { readonly type: string; readonly text?: string }

/** The lines to print for an event; docs/reference/api.md has the fields of each type. */
function linesOf(event: EventView): string[] {
  switch (event.type) {
    case 'step.finished':
      return (event['message'] as Part[]).flatMap((part) => (part.type === 'text' && part.text ? [part.text] : []))
    case 'tool.started':
      return [`[${String(event['name'])}]`]
    case 'process.exited':
      return [(event['exit'] as { reason: string }).reason]
    default:
      return []
  }
}

await using reeve = connect()
const { uuid } = await reeve.spawn({ intent: process.argv[2] ?? 'Find the longest function in this folder.' })
// The stream starts with the first event, even if it is opened late, and ends with the process.
for await (const event of reeve.events({ process: uuid, follow: true })) {
  for (const line of linesOf(event)) console.log(line)
}
