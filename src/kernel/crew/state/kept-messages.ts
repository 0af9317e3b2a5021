// Messages that wait in the queue of a crew, because no process of their member can read them yet. Each id begins with the id of the
// member. Test: test/tables/kernel/decide/crew-process/message-moves.test.ts.
import { predecessorsOf } from './queries.ts'
import type { Process, QueuedMessage } from '../../model/process.ts'
import type { MemberId } from '../../model/crew/words.ts'

/** The id of a message that the crew's own queue keeps for a member without a running process. */
export function keptMessageId(member: MemberId, id: string): string {
  return `${member}/${id}`
}

/** Messages that the crew keeps for a member or for its predecessors. */
export function keptMessages(crew: Process | undefined, member: MemberId): readonly QueuedMessage[] {
  if (!crew?.crew || crew.queue.length === 0) return []
  const prefixes = [...predecessorsOf(crew.crew, member).map(({ id }) => id), member].map((id) => keptMessageId(id, ''))
  return crew.queue.filter(({ id }) => prefixes.some((prefix) => id.startsWith(prefix)))
}
