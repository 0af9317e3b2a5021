// The rows of the daemon as its stream has sent them, and the daemon's clock, which clocks of rows need. Test: test/e2e/screen/watch.test.ts.
import { applyRowEvent, type RowEvent, type RowView } from '../../index.ts'

export class FollowedRows {
  readonly byUuid = new Map<string, RowView>()
  /** the clock of the daemon less the one of this program, in ms */
  #lead = 0

  take(event: RowEvent): void {
    if ('now' in event) this.#lead = Date.parse(event.now) - Date.now()
    applyRowEvent(this.byUuid, event)
  }

  /** The wall time of the daemon, in ms. */
  get now(): number {
    return Date.now() + this.#lead
  }
}
