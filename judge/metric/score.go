package metric

// A Score is a distance of samples to the data, what perfect copies of the training rows would score, and what a
// perfect model would.
type Score struct {
	Full         Float `json:"full"`     // against all data, training rows included, as the paper does
	HeldOut      Float `json:"held_out"` // against validation and test rows
	Floor              // as many draws from the training rows, against all data
	HeldOutFloor Float `json:"held_out_floor"` // the same draws against the held-out rows: mean
	Law          Float `json:"law"`            // as many new draws of the law, against all data: NewDraws; 0: not known
}
