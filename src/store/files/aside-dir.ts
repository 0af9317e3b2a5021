// The directory for files that the daemon finds when it starts, and that the store does not know. reeve moves such files there, logs
// it, and never removes them.
import { join } from 'node:path'

export function asideDir(state: string): string {
  return join(state, 'aside')
}
