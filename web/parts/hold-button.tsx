// A button for what cannot be undone. One click of a mouse is enough, but a finger must hold it, so that a touch in passing does nothing.
// Test: test/e2e/web/phone.test.ts.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ComponentChildren, JSX } from 'preact'

/** how long a finger must hold it, in ms */
const HOLD_MS = 600

export interface HoldButtonProps {
  readonly onDo: () => void
  /** true: it cannot be pressed, and a finger that holds it does nothing */
  readonly disabled?: boolean
  readonly children: ComponentChildren
}

export function HoldButton({ onDo, disabled = false, children }: HoldButtonProps): JSX.Element {
  const timer = useRef(0)
  const isTouched = useRef(false)
  const [isHeld, setHeld] = useState(false)
  const release = (): void => {
    clearTimeout(timer.current)
    setHeld(false)
  }
  useEffect(() => {
    // What the finger began to hold may mean something else by now.
    if (disabled) release()
    return () => clearTimeout(timer.current)
  }, [disabled])
  return (
    <button
      type="button"
      disabled={disabled}
      class={isHeld ? 'danger hold held' : 'danger hold'}
      onPointerDown={({ pointerType }) => {
        isTouched.current = pointerType === 'touch'
        if (!isTouched.current) return
        setHeld(true)
        timer.current = setTimeout(onDo, HOLD_MS)
      }}
      onPointerUp={release}
      onPointerCancel={release}
      onPointerLeave={release}
      onContextMenu={(event) => isTouched.current && event.preventDefault()}
      onClick={() => {
        if (!isTouched.current) onDo()
        isTouched.current = false
      }}
    >
      {children}
      <span class="hold-hint"> · hold</span>
    </button>
  )
}
