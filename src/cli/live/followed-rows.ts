// The rows that the daemon's stream has sent, and the daemon's clock, by which the elapsed times of rows are computed.
// Test: test/e2e/screen/watch.test.ts.
import { applyRowEvent, type RowEvent, type RowView } from '../../index.ts'

export class FollowedRows {
  readonly byUuid = new Map<string, RowView>()
  /** how far the daemon's clock is ahead of the clock of this program, in ms */
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
