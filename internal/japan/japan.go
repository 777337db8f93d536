// Package japan contains the time zone of Japan. It imports the standard library only.
package japan

import "time"

// Zone is the time zone of Japan, which has had no daylight saving time since 1951.
var Zone = time.FixedZone("JST", 9*60*60)
