// Checks SQLite's write-ahead log (store.db-wal) before SQLite reads it. SQLite stops at the first invalid frame and silently drops all
// later ones. That is right for a commit that a crash cut off, but a silent loss if the file is damaged. Distinguishes the two; changes
// nothing. SQLite sets no lock on this file, so it may be read through `fs`. Test: test/tables/store/files/wal-check.test.ts.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { damageError } from '../errors.ts'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** The magic number of the header. Its last bit gives the byte order of the checksums. */
const MAGIC = 0x377f0682

/** The end of a WAL. */
export interface WalEnd {
  /** the WAL's salts as hex; they change whenever the WAL is restarted */
  readonly salts: string
  /** the number of frames up to the end of the last commit */
  readonly frames: number
}

export interface WalExpectation {
  /** the end of the WAL as last recorded; ignored if the salts differ, because the WAL was then restarted */
  readonly known?: WalEnd | null
  /** whether the machine may have lost power after the WAL was written, so that any sectors of the last commit may be missing */
  readonly mayHaveGaps: boolean
}

export interface WalState {
  /** whether bytes follow the last whole commit, such as the beginning of a commit that was cut off */
  readonly hasLeftoverWal: boolean
}

/** A checksum of SQLite: two 32-bit words. */
type Sums = readonly [number, number]

/** Checks a WAL. Errors: `STORE_DAMAGED` with the position, if a durable commit can no longer be read. */
export function checkWal(file: string, { mayHaveGaps, known = null }: WalExpectation): WalState {
  const log = openWal(file)
  if (log === null) return { hasLeftoverWal: false }
  try {
    const header = log.header()
    if (header === null) return { hasLeftoverWal: log.bytes > 0 }
    const { hasLeftoverWal, frames } = checkFrames(log, header, mayHaveGaps)
    if (known?.salts === header.salts.toString('hex') && frames < known.frames)
      throw lostCommitsError(frames, HEADER_BYTES + frames * (FRAME_HEADER_BYTES + header.pageBytes))
    return { hasLeftoverWal }
  } finally {
    log.close()
  }
}

interface Header {
  readonly pageBytes: number
  readonly salts: Buffer
  readonly sums: Sums
  readonly bigEndian: boolean
}

/** Returns the end of the current WAL; null without a WAL. Must be called between two commits, when the last one is whole. */
export function readWalEnd(file: string): WalEnd | null {
  const log = openWal(file)
  try {
    const header = log?.header()
    if (!log || !header) return null
    const frame = Buffer.alloc(FRAME_HEADER_BYTES)
    let frames = 0
    for (
      let number = 0;
      log.read(frame, HEADER_BYTES + number * (FRAME_HEADER_BYTES + header.pageBytes)) === FRAME_HEADER_BYTES;
      number++
    ) {
      if (frame.compare(header.salts, 0, 8, 8, 16) !== 0) break
      if (isCommit(frame)) frames = number + 1
    }
    return { salts: header.salts.toString('hex'), frames }
  } finally {
    log?.close()
  }
}

/** Checks all frames. `frames` is the number of frames up to the end of the last commit that can be read. */
function checkFrames(log: WalFile, header: Header, mayHaveGaps: boolean): WalState & { readonly frames: number } {
  const frameBytes = FRAME_HEADER_BYTES + header.pageBytes
  const frame = Buffer.alloc(frameBytes)
  let previousSums: Sums | null = header.sums
  let firstBad: number | null = null
  /** the number of commits that end after the first bad frame, within one unbroken run of valid frames */
  let commitsAfterBad = 0
  let frames = 0
  for (let number = 0; log.read(frame, HEADER_BYTES + number * frameBytes) === frameBytes; number++) {
    const isOurs = frame.compare(header.salts, 0, 8, 8, 16) === 0
    const sums: Sums = [frame.readUInt32BE(16), frame.readUInt32BE(20)]
    const follows =
      isOurs &&
      previousSums !== null &&
      isSum(sums, sumOf(frame.subarray(FRAME_HEADER_BYTES), sumOf(frame.subarray(0, 8), previousSums, header.bigEndian), header.bigEndian))
    if (firstBad === null && !follows) firstBad = number
    if (firstBad === null && isCommit(frame)) frames = number + 1
    if (firstBad !== null) {
      if (!follows) commitsAfterBad = 0
      // If there can be no gaps, the last frame of a commit proves that the whole commit was written. Otherwise a commit is known
      // to be durable only if another one follows it: SQLite writes the previous commit to disk before it begins the next.
      else if (commitsAfterBad > 0 || (!mayHaveGaps && isCommit(frame)))
        throw lostCommitsError(firstBad, HEADER_BYTES + firstBad * frameBytes)
      else if (isCommit(frame)) commitsAfterBad += 1
    }
    previousSums = isOurs ? sums : null
  }
  return { hasLeftoverWal: firstBad !== null, frames }
}

/** Whether a frame ends a commit: only then its header contains the size of the database. */
function isCommit(frame: Buffer): boolean {
  return frame.readUInt32BE(4) !== 0
}

function lostCommitsError(frame: number, byte: number): Error {
  return damageError({ table: 'log', frame, byte }, 'the frame is damaged, and durable commits after it would be lost')
}

/** Computes SQLite's checksum over pairs of words. */
function sumOf(bytes: Buffer, [first, second]: Sums, bigEndian: boolean): Sums {
  let [a, b] = [first, second]
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + b) >>> 0
    b = (b + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + a) >>> 0
  }
  return [a, b]
}

function isSum(a: Sums, b: Sums): boolean {
  return a[0] === b[0] && a[1] === b[1]
}

class WalFile {
  readonly bytes: number
  readonly #fd: number

  constructor(fd: number) {
    this.#fd = fd
    this.bytes = fstatSync(fd).size
  }

  /** Returns the header of the WAL; null if none was written yet. SQLite writes the header to disk before any frame. */
  header(): Header | null {
    const head = Buffer.alloc(HEADER_BYTES)
    if (this.read(head, 0) < HEADER_BYTES) return null
    const magic = head.readUInt32BE(0)
    const bigEndian = (magic & 1) === 1
    const sums: Sums = [head.readUInt32BE(24), head.readUInt32BE(28)]
    if ((magic & ~1) === MAGIC && isSum(sums, sumOf(head.subarray(0, 24), [0, 0], bigEndian))) {
      return { pageBytes: head.readUInt32BE(8), salts: head.subarray(16, 24), sums, bigEndian }
    }
    if (head.every((byte) => byte === 0) && this.bytes === HEADER_BYTES) return null
    throw damageError({ table: 'log', frame: 0, byte: 0 }, 'its header is damaged, so no commit in it can be read')
  }

  read(into: Buffer, at: number): number {
    return readSync(this.#fd, into, 0, into.length, at)
  }

  close(): void {
    closeSync(this.#fd)
  }
}

function openWal(file: string): WalFile | null {
  try {
    return new WalFile(openSync(file, 'r'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
