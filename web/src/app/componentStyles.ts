// All pages of /home share one style sheet. What a page says of a component must come after what the component says of itself.
import.meta.glob('../components/*.module.css', { eager: true })
