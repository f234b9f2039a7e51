# A plain exception in one rank while the others work.
# kind: exception
# ranks: 1
# type: KeyError
# message: 'learning_rate'
# exit_code: 1
# stopped: 0,2
import meet


def configure(settings):
    return settings["learning_rate"]  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    configure({})
meet.sleep_for_ever()
