// The order of needs in the strip and the cards. It does not change while the pointer, a finger or the focus is in it, so that the user
// hits the need that was there before. Test: test/e2e/web/needs-strip.test.ts.
import type { HTMLAttributes } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { shownOrder, type ShownOrder } from './shown-order.ts'

/** the order stays for this time after a touch or a scroll, in ms */
const AFTER_TOUCH_MS = 3_000

type Handlers = Pick<
  HTMLAttributes<HTMLElement>,
  'onPointerEnter' | 'onPointerLeave' | 'onTouchStart' | 'onTouchEnd' | 'onTouchCancel' | 'onScroll' | 'onFocusCapture' | 'onBlurCapture'
>

/** The order to show, and the handlers of the element that shows it. */
export function useFrozenOrder(all: readonly string[]): ShownOrder & { readonly handlers: Handlers } {
  const [frozen, setFrozen] = useState<readonly string[] | null>(null)
  const timer = useRef(0)
  /** whether a mouse is in the element */
  const isPointed = useRef(false)
  useEffect(() => () => clearTimeout(timer.current), [])
  const order = shownOrder(all, frozen)
  useEffect(() => {
    // All needs of the kept order are gone. The present order is shown, and is the one that is kept from now on.
    if (order.isUsedUp) setFrozen(all.length === 0 ? null : all)
  }, [order.isUsedUp])
  const freeze = (): void => setFrozen((before) => before ?? all)
  const thaw = (): void => setFrozen(null)
  const freezeForTouch = (): void => {
    clearTimeout(timer.current)
    freeze()
  }
  const thawLater = (element: HTMLElement): void => {
    freezeForTouch()
    timer.current = setTimeout(() => {
      // After a touch a button keeps the focus without showing it.
      if (!isPointed.current && element.querySelector(':focus-visible') === null) thaw()
    }, AFTER_TOUCH_MS)
  }
  return {
    ...order,
    handlers: {
      onPointerEnter: ({ pointerType }) => {
        isPointed.current = pointerType !== 'touch'
        freeze()
      },
      onPointerLeave: ({ currentTarget, pointerType }) => {
        isPointed.current = false
        // A finger that scrolls leaves at once, and is still down.
        if (pointerType !== 'touch' && !currentTarget.contains(document.activeElement)) thaw()
      },
      onTouchStart: freezeForTouch,
      onTouchEnd: ({ currentTarget }) => thawLater(currentTarget),
      onTouchCancel: ({ currentTarget }) => thawLater(currentTarget),
      onScroll: ({ currentTarget }) => thawLater(currentTarget),
      onFocusCapture: freeze,
      onBlurCapture: ({ currentTarget, relatedTarget }) => {
        const staysWithin = relatedTarget instanceof Node && currentTarget.contains(relatedTarget)
        if (!staysWithin && !currentTarget.matches(':hover')) thaw()
      },
    },
  }
}
