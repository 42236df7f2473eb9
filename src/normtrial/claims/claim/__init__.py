"""What a claim is: names and meanings (`model`, `training`), strict reading (`load`), its hash (`registry`)."""
