// All pages of /home share one style sheet. A page's rules for a component must follow the component's own rules.
import.meta.glob('../components/*.module.css', { eager: true })
