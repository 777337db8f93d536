/** FrameSource is the clock of paints; tests replace it. */
export interface FrameSource {
  /** Calls back once, before the next paint, or soon if nothing is painted (a hidden tab). */
  readonly request: (callback: () => void) => () => void
  readonly now: () => number
}

/** The browser's frames. A hidden tab has none, so a timer replaces them there. */
export const browserFrames: FrameSource = {
  request: (callback) => {
    if (document.visibilityState === 'hidden') {
      const timer = setTimeout(callback, 100)
      return () => clearTimeout(timer)
    }
    // A tab hidden after the request never gets its frame, hence the timer.
    let open = true
    const once = () => {
      if (!open) return
      cancel()
      callback()
    }
    const frame = requestAnimationFrame(once)
    const timer = setTimeout(once, 250)
    const cancel = () => {
      open = false
      cancelAnimationFrame(frame)
      clearTimeout(timer)
    }
    return cancel
  },
  now: () => performance.now(),
}

/**
 * FrameCommitter batches changes between paints into one commit. Any number of `schedule` calls lead to one commit on a
 * frame. Commits are at least `intervalMs` apart, because each parses the growing block.
 */
export class FrameCommitter {
  #cancel: (() => void) | null = null
  #lastAt = Number.NEGATIVE_INFINITY

  constructor(
    private readonly frames: FrameSource,
    private readonly commit: () => void,
    private readonly intervalMs = 50,
  ) {}

  schedule(): void {
    if (this.#cancel === null) this.#cancel = this.frames.request(() => this.#onFrame())
  }

  /** Commits now, including a scheduled commit. */
  flush(): void {
    this.stop()
    this.#lastAt = this.frames.now()
    this.commit()
  }

  /** Cancels a scheduled commit. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = null
  }

  #onFrame(): void {
    this.#cancel = null
    // Half a frame of tolerance, so that a 60 Hz screen commits at every third frame, not the fourth.
    if (this.frames.now() - this.#lastAt < this.intervalMs - 8) this.schedule()
    else this.flush()
  }
}
